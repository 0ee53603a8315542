/** Copies a folder with cp, makes it durable with sync, and scans the copy for secrets, one file after the other. Prints milliseconds. */
import { execFileSync } from 'node:child_process';
import { createReadStream, readdirSync } from 'node:fs';
import path from 'node:path';
import { SecretScan } from '../../../dist/libs/secret-scan/index.js';

const [from, to] = process.argv.slice(2);
const started = performance.now();
execFileSync('cp', ['-r', from, to]);
execFileSync('sync', ['-f', to]);
for (const entry of readdirSync(to, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const name = path.join(entry.parentPath, entry.name);
  const scan = new SecretScan(name);
  for await (const chunk of createReadStream(name, { highWaterMark: 256 * 1024 })) scan.add(chunk);
  scan.end();
}
process.stdout.write(String(performance.now() - started));
