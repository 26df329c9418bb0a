from assay_ingest.app import create_app
from assay_ingest.settings import Settings
from assay_servicekit.service import serve

serve(create_app(Settings()))
