import { Injectable } from '@nestjs/common';
import type { ServerEvent } from '#libs/fastify-hardening/index.js';
import { RunEvents } from '../../agents/runs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import type { EventLog, LogPage, Watched } from '../../platform/streams/index.js';
import type { Topic } from '../../platform/topics/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import {
  AutomationEventsStore,
  type AutomationRunRow,
  AutomationRunsStore,
  automationEventsTopic,
  automationRunTopic,
} from './records/index.js';
import {
  AutomationEventView,
  AutomationRunView,
  WatchAutomationRun,
  WatchAutomations,
} from './views/index.js';

const MAX_PIECES = 200;

/** Watching runs of automations. */
@Injectable()
export class AutomationEventsService {
  constructor(
    private readonly runs: AutomationRunsStore,
    private readonly agents: RunEvents,
    private readonly workspaces: WorkspacesStore,
    private readonly log: AutomationEventsStore,
  ) {}

  @Action({
    name: 'automation_watch',
    on: 'workspace_id',
    summary: 'Stream what happens to the automations of a workspace: deployments and runs',
    description:
      'Events are automation.run.queued, .started, .completed and .failed, and automation.deployment.deployed, .paused, .resumed and .stopped. `reset` says that those up to a number are not kept any more.',
    effect: 'read',
    permission: 'automation.read',
    input: WatchAutomations,
    output: AutomationEventView,
    restOnly: true,
  })
  async all(actor: Actor, { workspace_id }: WatchAutomations): Promise<Watched> {
    await this.workspaces.require(actor, 'automation.read', workspace_id);
    return { workspaceId: workspace_id, log: new WorkspaceAutomations(this.log, workspace_id) };
  }

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

/** What happens to the automations of a workspace. */
class WorkspaceAutomations implements EventLog {
  readonly topic: Topic;

  constructor(
    private readonly log: AutomationEventsStore,
    private readonly workspaceId: string,
  ) {
    this.topic = automationEventsTopic(workspaceId);
  }

  async read(after: number): Promise<LogPage> {
    await this.log.number(this.workspaceId);
    const rows = await this.log.after(this.workspaceId, after, MAX_PIECES);
    const pruned = await this.log.prunedThrough(this.workspaceId);
    if (after < pruned)
      return { events: [{ id: pruned, event: 'reset', data: { pruned_through: pruned } }], isAgain: true };
    const events = rows.map(({ id, type, data, created_at }) => ({
      ...{ id: Number(id), event: type, data: { ...data, time: iso(created_at) } },
    }));
    return { events, isAgain: rows.length === MAX_PIECES };
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

  async end(): Promise<ServerEvent | undefined> {
    return this.agent?.end?.();
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
    // Under the same number also for who resumes behind it.
    const id = (pieces.at(-1)?.number ?? (await this.runs.newestPrinted(this.id))) + 1;
    return {
      events: [...events, { id, event, data: { status, stop_reason, error, exit_code } }],
      isLast: true,
    };
  }
}
