from assay_scorer.app import create_app
from assay_scorer.settings import Settings
from assay_servicekit.service import serve

serve(create_app(Settings()))
