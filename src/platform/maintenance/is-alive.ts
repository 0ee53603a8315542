/**
 * Whether another process of this machine has that number. Never this one: in a container, a process often has the number
 * of the one before it.
 */
export function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
