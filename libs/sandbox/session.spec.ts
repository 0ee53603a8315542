import { tmpdir } from 'node:os';
import { createSandbox } from './index.js';
import { itRunsSessions } from './session.fixture.js';

const owner = process.getuid?.() === 0 ? { uid: 200_011, gid: 200_011 } : undefined;

describe.each(['bubblewrap', 'unsafe-local'] as const)('a session (%s)', driver => {
  const sandbox = createSandbox(driver);
  itRunsSessions(() => sandbox, { owner, isolated: driver === 'bubblewrap', folders: tmpdir() });
});
