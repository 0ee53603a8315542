import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log/index.js';
import { type AutomationRunRow, AutomationRunsStore } from '../records/automation-runs.store.js';
import { AgentExecution } from './agent-execution.js';
import { NotBegun, ScriptExecution, type ScriptSignals } from './script-execution.js';

/** Executes one run that this process has taken. One that could not begin is put back. */
@Injectable()
export class RunExecution {
  constructor(
    private readonly database: Database,
    private readonly runs: AutomationRunsStore,
    private readonly agents: AgentExecution,
    private readonly scripts: ScriptExecution,
    private readonly log: Log,
  ) {}

  async execute(run: AutomationRunRow, signals: ScriptSignals): Promise<void> {
    try {
      if (run.kind === 'agent') await this.agents.start(run);
      else await this.scripts.run(run, signals);
    } catch (error) {
      const isClosing = signals.closing.aborted;
      if (run.kind === 'script' && !(error instanceof NotBegun)) {
        // It is taken for lost when this process is gone.
        this.log.warn({ err: error, automation_run_id: run.id }, 'the end of a script is not written down');
        return;
      }
      if (!isClosing)
        this.log.warn({ err: error, automation_run_id: run.id }, 'automation run did not begin, retrying');
      await this.database
        .transaction(unit => this.runs.putBack(unit, run.id, { isDelayed: !isClosing }))
        .catch(fault => this.log.warn({ err: fault, automation_run_id: run.id }, 'run not put back'));
    }
  }
}
