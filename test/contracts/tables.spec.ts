import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import pg from 'pg';
import { TestDatabase } from '../harness/database.js';
import { tableTypes } from '../harness/table-types.js';

it('knows every table as the migrations leave it; run npm run generate:tables', async () => {
  const database = await TestDatabase.create();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const types = await tableTypes(client);
  await client.query(
    'create table test_of_types (id uuid primary key, state text check (state in ($$a$$, $$b$$)))',
  );
  const changed = await tableTypes(client);
  await client.end();
  await database.drop();
  expect(readFileSync('src/platform/database/tables.ts', 'utf8')).toBe(types);
  expect(changed).toContain(`  test_of_types: {\n    id: string; state: 'a' | 'b' | null;\n  };\n`);
});
