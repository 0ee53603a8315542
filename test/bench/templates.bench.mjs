/** Templates against cp and the scan of the copy alone: a version of many small files, and one of a few large ones. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { atelier, bench, compare, folder, postJson, report } from './lib.mjs';

const ROUNDS = 3;
const SMALL = { folders: 40, each: 50, bytes: 8 * 1024 };
const LARGE = { folders: 1, each: 4, bytes: 50 * 1024 * 1024 };

/** Text that is as hard to scan as source code: words, numbers and quotes, no secret. */
const textOf = bytes => {
  const line = () =>
    `const value${randomBytes(2).readUInt16LE()} = compute('${randomBytes(6).toString('hex')}', 12);\n`;
  const block = Array.from({ length: 2000 }, line).join('');
  return block.repeat(Math.ceil(bytes / block.length)).slice(0, bytes);
};

function fill(place, { folders, each, bytes }) {
  const content = textOf(bytes);
  for (let at = 0; at < folders; at++) {
    mkdirSync(path.join(place, `d${at}`), { recursive: true });
    for (let file = 0; file < each; file++) writeFileSync(path.join(place, `d${at}`, `f${file}.js`), content);
  }
}

/** Milliseconds from the request to the end of its operation, which the stream tells. */
async function published(service, workspace_id) {
  const { api_key } = service.credentials;
  const started = performance.now();
  const { operation_id } = await postJson(
    `${service.url}/api/templates`,
    { 'x-api-key': api_key },
    { workspace_id },
  );
  const stream = await fetch(`${service.url}/api/operations/${operation_id}/events`, {
    headers: { 'x-api-key': api_key },
  });
  const text = await stream.text();
  if (!text.includes('event: operation.completed')) throw new Error(`not published: ${text.slice(-500)}`);
  return performance.now() - started;
}

await bench(async () => {
  const DATA_DIR = folder();
  const service = await atelier({ DATA_DIR });
  const copies = folder();
  let copy = 0;
  for (const [name, size] of Object.entries({ small: SMALL, large: LARGE })) {
    const { id } = await postJson(
      `${service.url}/api/workspaces`,
      { 'x-api-key': service.credentials.api_key },
      { name },
    );
    const place = path.join(DATA_DIR, 'workspaces', id);
    fill(place, size);
    const times = await compare(
      ROUNDS,
      () => published(service, id),
      () => {
        const to = path.join(copies, String(copy++));
        return Number(execFileSync(process.execPath, ['test/bench/floors/copy-scan.mjs', place, to]));
      },
    );
    report(
      `publish ${name} / copy + scan`,
      times.ours / times.floor,
      'goal <= 1.2',
      `${times.ours | 0} of ${times.floor | 0} ms, ${size.folders * size.each} files of ${size.bytes} bytes`,
    );
  }
});
