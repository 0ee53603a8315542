import type pg from 'pg';

const HEAD = `/* Made from the migrated database by \`npm run generate:tables\`; a test compares it. */
import type { ColumnType } from 'kysely';

/** Times come as text, as PostgreSQL prints them, and go in as text or as dates. */
type Time = ColumnType<string, string | Date>;
/** Larger than a number may be: comes as text. */
type Big = ColumnType<string, string | number | bigint>;
declare global {
  /** What JSON and lists are, by \`table.column\`: each feature tells it of its own. */
  interface ColumnTypes {}
}
type Told<C, Else> = C extends keyof ColumnTypes ? ColumnTypes[C] : Else;
/** Goes in as text, or as what the driver makes text of. */
type Json<C> = ColumnType<Told<C, unknown>, unknown>;
/** It has a default, and may be left out. */
type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;

`;
const TYPES: Record<string, string> = {
  text: 'string',
  varchar: 'string',
  uuid: 'string',
  bool: 'boolean',
  bytea: 'Buffer',
  int4: 'number',
  float8: 'number',
  int8: 'Big',
  numeric: 'Big',
  timestamptz: 'Time',
  date: 'Time',
};
const WIDTH = 110;

interface Column {
  table: string;
  name: string;
  type: string;
  nullable: boolean;
  generated: boolean;
  /** Of a check that lists what the column may be. */
  check: string | null;
  /** `One of: a, b`, where rows are written too often for a check. */
  comment: string | null;
}

/** TypeScript types of all tables of a migrated database, for Kysely. */
export async function tableTypes(client: pg.Client): Promise<string> {
  const { rows } = await client.query<Column>(`
    select c.table_name as table, column_name as name, udt_name as type, is_nullable = 'YES' as nullable,
      column_default is not null or is_identity = 'YES' as generated,
      (select pg_get_constraintdef(k.oid) from pg_constraint k
        where k.conrelid = format('%I.%I', c.table_schema, c.table_name)::regclass and k.contype = 'c'
          and pg_get_constraintdef(k.oid) like format('CHECK ((%I = ANY (ARRAY[%%', column_name) limit 1) as check,
      col_description(format('%I.%I', c.table_schema, c.table_name)::regclass, ordinal_position) as comment
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.table_name <> 'migration'
    order by c.table_name collate "C", ordinal_position`);
  const tables = Map.groupBy(rows, ({ table }) => table);
  const bodies = [...tables].map(([name, columns]) => `  ${name}: {\n${filled(columns.map(fieldOf))}  };\n`);
  return `${HEAD}export interface Schema {\n${bodies.join('')}}\n`;
}

function fieldOf(column: Column): string {
  const { name, nullable, generated } = column;
  const type = typeOf(column);
  const whole = nullable ? `${type} | null` : type;
  return `${name}: ${generated ? `Generated<${whole}>` : whole};`;
}

function typeOf({ table, name, type, check, comment }: Column): string {
  const [, values] = /^One of: (.+)$/.exec(comment ?? '') ?? [];
  if (values)
    return values
      .split(', ')
      .map(value => `'${value}'`)
      .join(' | ');
  if (check) return [...check.matchAll(/'([^']*)'::text/g)].map(([, value]) => `'${value}'`).join(' | ');
  if (type === 'json' || type === 'jsonb') return `Json<'${table}.${name}'>`;
  const isList = type.startsWith('_');
  const known = TYPES[isList ? type.slice(1) : type];
  if (!known) throw new Error(`No TypeScript type is known for ${type} (${table}.${name})`);
  return isList ? `Told<'${table}.${name}', ${known}[]>` : known;
}

/** As many fields a line as fit. */
function filled(fields: readonly string[]): string {
  const lines = [''];
  for (const field of fields) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + field.length + 5 > WIDTH) lines.push(field);
    else lines[lines.length - 1] = last === '' ? field : `${last} ${field}`;
  }
  return lines.map(line => `    ${line}\n`).join('');
}
