-- two statements that deserve a look
UPDATE users SET active = 0;
ALTER TABLE orders ADD COLUMN note TEXT NOT NULL;
UPDATE users SET active = 1 WHERE id = 7;
