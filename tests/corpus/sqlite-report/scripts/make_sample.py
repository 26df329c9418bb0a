import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as connection:
    connection.executescript(
        """
        DROP TABLE IF EXISTS customer;
        CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
        INSERT INTO customer (name, city) VALUES ('Ada', 'Rome'), ('Ben', 'Paris'), ('Cy', 'Rome');
        """
    )
print(f"made {sys.argv[1]} with 3 customers")
