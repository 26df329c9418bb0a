from assay_sandbox_runner.app import create_app
from assay_sandbox_runner.settings import Settings
from assay_servicekit.service import serve

serve(create_app(Settings()))
