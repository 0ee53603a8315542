import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from '@mikro-orm/postgresql';

/** Ends a dry run where it would have done something. */
export class DryRunOver extends Error {
  constructor() {
    super('A dry run ends here');
  }
}

/** Work that is tried out: all its queries go through one transaction, which is rolled back. */
export class DryRun {
  private isOver = false;

  constructor(private readonly transaction: EntityManager) {}

  /** Where its queries go; once it is over, no more of them do. */
  get entities(): EntityManager {
    if (this.isOver) throw new DryRunOver();
    return this.transaction;
  }

  close(): void {
    this.isOver = true;
  }

  end(): never {
    this.close();
    throw new DryRunOver();
  }
}

const dryRuns = new AsyncLocalStorage<DryRun>();

/** The dry run that the caller is part of. */
export const dryRun = (): DryRun | undefined => dryRuns.getStore();

/** Calls `work` as a dry run that goes through `transaction`. Never returns: it throws what `work` refuses, or DryRunOver. */
export async function inDryRun(transaction: EntityManager, work: () => Promise<unknown>): Promise<never> {
  const run = new DryRun(transaction);
  try {
    await dryRuns.run(run, work);
    return run.end();
  } finally {
    run.close();
  }
}

/** To be called right before something that no transaction undoes: writing files, ending processes. A dry run ends there. */
export function beforeSideEffect(): void {
  dryRun()?.end();
}
