import { Injectable } from '@nestjs/common';
import { RunEvents } from '../../agents/runs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { type AutomationRunRow, AutomationRunsStore, automationRunTopic } from './records/index.js';
import { AutomationRunView, WatchAutomationRun } from './views/index.js';

const MAX_PIECES = 200;

/** Watching runs of automations. */
@Injectable()
export class AutomationEventsService {
  constructor(
    private readonly runs: AutomationRunsStore,
    private readonly agents: RunEvents,
  ) {}

  @Action({
    name: 'automation_run_watch',
    on: { id: 'automation_run' },
    summary: 'Stream the events of its agent, or what its script prints, to its end',
    effect: 'read',
    permission: 'automation.read',
    input: WatchAutomationRun,
    output: AutomationRunView,
    restOnly: true,
  })
  async events(actor: Actor, { id }: WatchAutomationRun): Promise<Watched> {
    const run = await this.runs.require(actor, 'automation.read', id);
    const whose = [run.organization_id, actor.id];
    return { workspaceId: run.workspace_id, log: new RunLog(this.runs, this.agents, id, whose) };
  }
}

/** The events of its agent, under their own numbers; of a script, what it prints, and how it ended. */
class RunLog implements EventLog {
  private agent: EventLog | undefined;

  constructor(
    private readonly runs: AutomationRunsStore,
    private readonly agents: RunEvents,
    private readonly id: string,
    /** Who watches. */
    private readonly whose: readonly string[],
  ) {}

  get topic(): Topic {
    return this.agent?.topic ?? automationRunTopic(this.id);
  }

  async read(after: number, signal: AbortSignal): Promise<LogPage> {
    if (this.agent) return this.agent.read(after, signal);
    const run = await this.runs.find(this.id);
    if (!run) return { events: [], isLast: true };
    if (run.call_id !== null) {
      this.agent = this.agents.of(run.call_id, this.whose);
      return { events: [], isAgain: true };
    }
    return this.readScript(run, after);
  }

  private async readScript(run: AutomationRunRow, after: number): Promise<LogPage> {
    const pieces = await this.runs.printed(this.id, after, MAX_PIECES);
    const events = pieces.map(({ number: id, text, created_at }) => ({
      ...{ id, event: 'script.output', data: { text, created_at: iso(created_at) } },
    }));
    if (pieces.length === MAX_PIECES) return { events, isAgain: true };
    if (run.state !== 'done') return { events };
    const { status, stop_reason, error, exit_code } = run;
    const event = status === 'completed' ? 'run.completed' : 'run.failed';
    const id = (pieces.at(-1)?.number ?? after) + 1;
    return {
      events: [...events, { id, event, data: { status, stop_reason, error, exit_code } }],
      isLast: true,
    };
  }
}
