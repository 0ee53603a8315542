import { Inject, Injectable } from '@nestjs/common';
import { costUsd, type StepRequest, type StepResult, streamStep } from '#libs/model-client/index.js';
import { Config } from '../../platform/config/config.js';
import type { Row } from '../../platform/database/rows.js';
import { Unavailable } from '../../platform/http/problem.js';
import type { MessageRow } from '../chats/messages.store.js';
import { ModelsService } from '../models/models.service.js';
import { buildPrompt, systemPrompt } from './prompt.js';
import type { Run } from './run.entity.js';
import type { RunTools } from './tool-gateway.js';

interface StepCall extends Pick<StepRequest, 'signal' | 'onDelta' | 'onRestart'> {
  run: Row<Run>;
  rows: MessageRow[];
  tools: RunTools;
}

/** Calls the model of a run once. */
@Injectable()
export class StepCaller {
  constructor(
    @Inject(ModelsService) private readonly models: ModelsService,
    @Inject(Config) private readonly config: Config,
  ) {}

  async call({
    run,
    rows,
    tools,
    ...hooks
  }: StepCall): Promise<{ result: StepResult; costUsd: number | null }> {
    const found = this.models.find(run.model);
    if (!found) throw new Unavailable(`The model ${run.model} is no longer configured`);
    const silence = this.config.modelTimeoutSeconds * 1000;
    const result = await streamStep({
      model: found.model,
      prompt: buildPrompt(systemPrompt(tools.agent, run.workspace_id !== null), rows, run.id),
      tools: [...tools.offered],
      timeouts: { firstByteMs: silence, idleMs: silence },
      ...hooks,
    });
    return { result, costUsd: found.price && costUsd(result.usage, found.price) };
  }
}
