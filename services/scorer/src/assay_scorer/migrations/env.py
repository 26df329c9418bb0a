from alembic import context

from assay_scorer.adapters.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    compare_type=True,
)
context.run_migrations()
