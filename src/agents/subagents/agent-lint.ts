import { Injectable } from '@nestjs/common';
import { didYouMean } from '#libs/did-you-mean/index.js';
import { ActionCatalog, allows } from '../../platform/actions/index.js';
import { ModelsService, ModelUnusable } from '../models/index.js';
import type { Subagent } from './definitions.js';
import { type Finding, Findings, type Reading } from './front-matter.js';

const ACTION = 'action:';
/** The names of all tools that agents can have: whoever has tools adds theirs. */
@Injectable()
export class ToolNames {
  private readonly sources: (() => readonly string[])[] = [];

  add(source: () => readonly string[]): void {
    this.sources.push(source);
  }

  all(): string[] {
    return this.sources.flatMap(source => source());
  }
}

/** Looks at what agents name beyond their file: tools, actions, a model. */
@Injectable()
export class AgentLint {
  constructor(
    private readonly toolNames: ToolNames,
    private readonly catalog: ActionCatalog,
    private readonly models: ModelsService,
  ) {}

  /** What is wrong with an agent, its file and what it names; `organizationId` decides which models there are. */
  async check(reading: Reading<Subagent>, organizationId: string): Promise<readonly Finding[]> {
    const { path, value: agent } = reading;
    if (!agent) return reading.findings;
    const findings = new Findings(path);
    this.checkTools(agent, findings);
    if (agent.model !== null) await this.checkModel(agent.model, organizationId, findings);
    return [...reading.findings, ...findings.all];
  }

  private checkTools({ tools }: Subagent, findings: Findings): void {
    const known = this.toolNames.all();
    const actions = this.catalog.list().map(({ name }) => name);
    for (const pattern of tools) {
      const isAction = pattern.startsWith(ACTION);
      const names = isAction ? actions : known;
      const wanted = isAction ? pattern.slice(ACTION.length) : pattern;
      if (names.some(name => allows([wanted], name))) continue;
      const meant = didYouMean(wanted, names);
      const kind = isAction ? 'action' : 'tool';
      findings.warn(
        `tools: no ${kind} is called "${wanted}"`,
        null,
        meant && `Did you mean "${isAction ? ACTION : ''}${meant}"?`,
      );
    }
  }

  private async checkModel(model: string, organizationId: string, findings: Findings): Promise<void> {
    try {
      await this.models.resolve(organizationId, model);
    } catch (error) {
      if (!(error instanceof ModelUnusable)) throw error;
      findings.error(error.detail, null, 'Name another model, or none for the default');
    }
  }
}
