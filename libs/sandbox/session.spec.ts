import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from './index.js';
import { itRunsSessions } from './session.fixture.js';

const owner = process.getuid?.() === 0 ? { uid: 200_011, gid: 200_011 } : undefined;
/** Of these sessions alone: other tests make some in the folder of the machine at the same time. */
const folders = mkdtempSync(join(tmpdir(), 'sessions-'));
const { TMPDIR } = process.env;

beforeAll(() => {
  chmodSync(folders, 0o755);
  process.env.TMPDIR = folders;
});
afterAll(() => {
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  rmSync(folders, { recursive: true });
});

describe.each(['bubblewrap', 'unsafe-local'] as const)('a session (%s)', driver => {
  const sandbox = createSandbox(driver);
  itRunsSessions(() => sandbox, { owner, isolated: driver === 'bubblewrap', folders });
});
