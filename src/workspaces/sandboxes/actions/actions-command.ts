#!/usr/bin/env node
/** The command `actions` inside a sandbox. It is copied there alone, so it imports only Node's own modules. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const USAGE = `usage: actions list [WORDS...]          what can be run, the best match first
       actions describe NAME           an action with the JSON Schemas of its input and output
       actions run NAME [INPUT] [--dry-run]
                                       INPUT is a JSON object, or - to read it from standard input
`;

interface Listed {
  name: string;
  effect: string;
  summary: string;
}

/** Invalid arguments; prints the usage. */
class Misused extends Error {}

const socketPath =
  process.env.ACTIONS_SOCKET ?? join(dirname(fileURLToPath(import.meta.url)), '..', 'actions.sock');

/** Source text access of ECMAScript 2026; some of the Node.js that sandboxes have are older. */
const exact = JSON as unknown as { rawJSON?: (text: string) => unknown };

/** As `JSON.parse`, but that numbers are written again as they were read. */
// biome-ignore lint/suspicious/noExplicitAny: as of JSON.parse
const parsedExactly = (text: string): any =>
  JSON.parse(text, (...[, value, context]: [string, unknown, { source?: string }?]) =>
    typeof value === 'number' && context?.source !== undefined && exact.rawJSON
      ? exact.rawJSON(context.source)
      : value,
  );

/** Resolves with the body of a 200; rejects with the detail of any other status. */
function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const asked = request({ socketPath, method, path: `/api/actions-exec${path}`, headers }, answer => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', chunk => {
        text += chunk;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        const parsed = parsedExactly(text);
        if (answer.statusCode === 200) resolve(parsed);
        else reject(new Error(parsed.detail));
      });
    });
    asked.on('error', reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function list(words: string[]): Promise<string> {
  const lines: string[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: '200' });
    if (words.length > 0) query.set('q', words.join(' '));
    if (cursor) query.set('cursor', cursor);
    const page: { items: Listed[]; next_cursor: string | null } = await ask('GET', `?${query}`);
    lines.push(...page.items.map(({ name, effect, summary }) => `${name}\t${effect}\t${summary}`));
    cursor = page.next_cursor;
  } while (cursor);
  return lines.join('\n');
}

async function describe([name]: string[]): Promise<string> {
  if (name === undefined) throw new Misused('describe what?');
  return JSON.stringify(await ask('GET', `/${encodeURIComponent(name)}`), null, 2);
}

async function run(words: string[]): Promise<string> {
  const dry_run = words.includes('--dry-run');
  const [name, input = '{}', ...rest] = words.filter(word => word !== '--dry-run');
  if (name === undefined || rest.length > 0) throw new Misused('run takes a name, and one JSON object');
  const body = { input: parse(input === '-' ? readFileSync(0, 'utf8') : input), dry_run };
  const { status, output } = await ask<{ status: string; output: unknown }>(
    'POST',
    `/${encodeURIComponent(name)}`,
    body,
  );
  return JSON.stringify(dry_run ? { status } : output);
}

function parse(input: string): unknown {
  try {
    return parsedExactly(input);
  } catch (error) {
    throw new Misused(`the input is not JSON: ${(error as Error).message}`);
  }
}

const VERBS: Record<string, (words: string[]) => Promise<string>> = { list, describe, run };

const [verb = '', ...words] = process.argv.slice(2);
try {
  const work = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
  if (!work) throw new Misused(verb ? `there is no ${verb}` : 'what?');
  process.stdout.write(`${await work(words)}\n`);
} catch (error) {
  process.stderr.write(`actions: ${(error as Error).message}\n${error instanceof Misused ? USAGE : ''}`);
  process.exitCode = error instanceof Misused ? 2 : 1;
}
