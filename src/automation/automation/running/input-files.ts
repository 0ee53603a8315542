import { Injectable, OnModuleInit } from '@nestjs/common';
import { type FilesToShow, SCRIPT_NAMES, ShownFiles } from '../../../workspaces/sandboxes/index.js';
import { type AutomationRunRow, AutomationRunsStore } from '../records/automation-runs.store.js';
import { RunContextReader } from './run-context-reader.js';

const FOLDER = '/run/automation';

/**
 * Shows the sandboxes of automations what came in (`input.json`) and, of a script, the program as it was deployed, read-only
 * at /run/automation.
 */
@Injectable()
export class InputFiles implements OnModuleInit {
  constructor(
    private readonly shown: ShownFiles,
    private readonly runs: AutomationRunsStore,
    private readonly contexts: RunContextReader,
  ) {}

  onModuleInit(): void {
    this.shown.add(async ({ kind, id }) => {
      if (id === null || (kind !== 'automation' && kind !== 'run')) return undefined;
      const run = await (kind === 'run' ? this.runs.ofAgentRun(id) : this.runs.find(id));
      return run && this.of(run);
    });
  }

  private async of(run: AutomationRunRow): Promise<FilesToShow | undefined> {
    const context = await this.contexts.find(run);
    if (!context) return undefined;
    const { pinned } = context;
    const payload = (await this.contexts.readPayload(context)) ?? 'null';
    const { work } = pinned.definition;
    return {
      to: FOLDER,
      files: {
        'input.json': payload,
        ...(work.kind === 'script' && { [SCRIPT_NAMES[work.language]]: pinned.code ?? '' }),
      },
      env: folder => ({
        ATELIER_AUTOMATION: folder,
        ATELIER_INPUT: `${folder}/input.json`,
        ATELIER_RUN_ID: run.id,
        ATELIER_ATTEMPT: String(run.attempt),
      }),
    };
  }
}
