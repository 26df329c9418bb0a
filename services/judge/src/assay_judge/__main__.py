from assay_judge.app import create_app
from assay_judge.settings import Settings
from assay_servicekit.service import serve

serve(create_app(Settings()))
