import { TestWorkspace } from './driver.fixture.js';
import { createSandbox } from './index.js';
import { itKeepsACommand } from './isolation.fixture.js';

const owner = process.getuid?.() === 0 ? { uid: 200_008, gid: 200_008 } : undefined;

describe('the bubblewrap sandbox keeps a command', () => {
  const sandbox = createSandbox('bubblewrap');

  itKeepsACommand(() => sandbox, { owner, inside: { uid: 1000, gid: 1000 }, processes: 2 });

  it('with nothing at the root but the system and its own folders', async () => {
    const workspace = new TestWorkspace(() => sandbox, owner);
    const list = 'cd /; ls -d bin dev etc lib* proc run sbin tmp usr workspace';
    expect((await workspace.bash('ls /')).stdout).toBe((await workspace.bash(list)).stdout);
    workspace.remove();
  });
});
