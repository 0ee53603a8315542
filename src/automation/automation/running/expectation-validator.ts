import { Injectable } from '@nestjs/common';
import { Glob } from '#libs/workspace-fs/index.js';
import { AutomationRunsStore } from '../records/automation-runs.store.js';
import { RunContextReader } from './run-context-reader.js';

/** Validates that a run left the files that its file expects. */
@Injectable()
export class ExpectationValidator {
  constructor(
    private readonly runs: AutomationRunsStore,
    private readonly contexts: RunContextReader,
  ) {}

  /** What the agent of a run did not write, in a sentence; null where nothing is missing. */
  async unmetBy(id: string): Promise<string | null> {
    const run = await this.runs.find(id);
    const context = run && (await this.contexts.find(run));
    const globs = context?.pinned.definition.expect.files ?? [];
    return run && globs.length > 0 ? this.unmet(globs, await this.runs.writtenPaths(run)) : null;
  }

  /** What is missing among the files that were written; null: they are not known. */
  unmet(globs: readonly string[], paths: readonly string[] | null): string | null {
    if (globs.length > 0 && paths === null)
      return 'Which files it wrote is not known yet; look whether they are there';
    const missing = globs.filter(glob => {
      const pattern = new Glob(glob);
      return !paths?.some(path => pattern.matches(path));
    });
    return missing.length === 0 ? null : `It wrote no file that is ${missing.join(' or ')}`;
  }
}
