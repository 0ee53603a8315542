import { spawnSync } from 'node:child_process';
import { defaultLimits } from './limits.js';
import { limitCommands, processBound } from './process-limits.js';

describe('limit commands', () => {
  it.each([['/bin/sh'], ['bash', '--posix']])(
    'are understood by %s and hold for what it becomes',
    (shell, ...flags) => {
      const script = `${limitCommands({ ...defaultLimits, fileBytes: 1_048_576, cpuSeconds: 7 }, 321)}\nexec cat /proc/self/limits`;
      const { stdout, stderr } = spawnSync(shell, flags, { input: script, encoding: 'utf8' });
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^Max cpu time +7 +8 /m);
      expect(stdout).toMatch(/^Max file size +1048576 +1048576 /m);
      expect(stdout).toMatch(/^Max core file size +0 +0 /m);
      expect(stdout).toMatch(/^Max open files +1024 +1024 /m);
      expect(stdout).toMatch(/^Max locked memory +65536 +65536 /m);
      expect(stdout).toMatch(/^Max processes +321 +321 /m);
    },
  );

  it('say nothing about limits that are lifted', () => {
    const lifted = {
      ...defaultLimits,
      fileBytes: Number.POSITIVE_INFINITY,
      cpuSeconds: Number.POSITIVE_INFINITY,
    };
    expect(limitCommands(lifted, undefined)).not.toMatch(/-[ftu] /);
  });

  it('leave room for the tasks that the user has already', () => {
    expect(processBound({ ...defaultLimits, processes: 10 }, process.getuid?.() ?? 0)).toBeGreaterThan(10);
  });
});
