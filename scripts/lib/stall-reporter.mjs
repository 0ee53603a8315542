import { existsSync, readFileSync } from 'node:fs';

/** Minutes without the end of a test file after which the run is given up: far longer than any of them takes. */
const STALL_MINUTES = 20;
/** What is left when everything has ended, such as a process that outlived its test, gets this long to end, too. */
const LEFTOVERS_MS = 30_000;

/** Ends a run that would never end: it names the test files that hang, or says that something outlived its test. */
export default class StallReporter {
  #running = new Map();
  #lastEnd = Date.now();
  #watch;

  onRunStart() {
    this.#watch = setInterval(() => this.#giveUpIfStalled(), 60_000);
    this.#watch.unref();
  }

  onTestFileStart({ path }) {
    this.#running.set(path, Date.now());
  }

  onTestFileResult({ path }) {
    this.#running.delete(path);
    this.#lastEnd = Date.now();
  }

  onRunComplete(_contexts, results) {
    clearInterval(this.#watch);
    const giveUp = () => {
      const left = [...process.getActiveResourcesInfo(), ...childProcesses()].join(', ');
      console.error(`Jest has not ended ${LEFTOVERS_MS / 1000} s after the last test. Still open: ${left}`);
      process.exit(results.success ? 0 : 1);
    };
    setTimeout(giveUp, LEFTOVERS_MS).unref();
  }

  #giveUpIfStalled() {
    const minutes = since => Math.round((Date.now() - since) / 60_000);
    if (minutes(this.#lastEnd) < STALL_MINUTES) return;
    const files = [...this.#running].map(([path, since]) => `\n  ${path} (${minutes(since)} minutes)`);
    console.error(`No test file has ended for ${STALL_MINUTES} minutes. Still running:${files.join('')}`);
    process.exit(1);
  }
}

/** Command lines of the child processes, where the system tells. */
function childProcesses() {
  const file = `/proc/self/task/${process.pid}/children`;
  if (!existsSync(file)) return [];
  const ids = readFileSync(file, 'utf8').trim().split(' ').filter(Boolean);
  const commandLines = ids.map(id => `/proc/${id}/cmdline`).filter(existsSync);
  return commandLines.map(name => readFileSync(name, 'utf8').replaceAll('\0', ' ').trim());
}
