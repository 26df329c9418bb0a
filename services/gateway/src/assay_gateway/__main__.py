from assay_gateway.app import create_app
from assay_gateway.settings import Settings
from assay_servicekit.service import serve

if __name__ == "__main__":
    serve(create_app(Settings()))
