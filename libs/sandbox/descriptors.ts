import { openSync, readdirSync, readFileSync } from 'node:fs';

/** One entry of `stdio` for `spawn`. */
export type Stdio = ('ignore' | 'pipe' | number)[];

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Descriptors that the service was started with and that its children would get without being asked: Node
 * marks its own close-on-exec, but of those it inherited only the first ones. Found once: none are added later.
 */
export class InheritedDescriptors {
  private readonly numbers = readdirSync('/proc/self/fdinfo').map(Number).filter(isInheritable);
  private readonly nothing = this.numbers.length > 0 ? openSync('/dev/null', 'r') : -1;

  /** The child's table with /dev/null in place of each; `spawn` can replace a descriptor but not close it. */
  cover(stdio: Stdio): Stdio {
    const covered = [...stdio];
    for (const number of this.numbers) {
      while (covered.length <= number) covered.push('ignore'); // above 2 this means: leave as it is
      if (number >= stdio.length) covered[number] = this.nothing;
    }
    return covered;
  }
}

function isInheritable(descriptor: number): boolean {
  if (descriptor <= 2) return false;
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false; // that of the listing itself
    throw error;
  }
}
