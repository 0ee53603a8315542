import { Injectable, OnModuleInit } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import { Database } from '../../../platform/database/index.js';
import { Field } from '../../../platform/dto/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import {
  failed,
  inputOf,
  type ListedTool,
  type OpenTools,
  type ToolProvider,
  ToolProviders,
  type ToolResult,
  type ToolScope,
} from '../../tools/index.js';
import { LoopWriter } from '../records/index.js';

const NAME = 'loop_blocked';

class LoopBlocked {
  @Field.text('What keeps you from going on, and what a person has to do about it', {
    min: 1,
    max: 2_000,
    pattern: /\S/,
    patternHint: 'must not be blank',
    example: 'The API asks for a key; a person has to connect it.',
  })
  reason: string;
}

const OFFER = {
  name: NAME,
  description:
    'Say that this loop cannot go on without a person, and why: a decision, an access or a file that you cannot get yourself. The loop ends with this run, until a person resumes it. Not for work that is merely hard or not finished.',
  schema: inputSchemaOf(LoopBlocked),
};

/** The tool by which the agent of a loop says that it cannot go on, whatever the tools that it may use besides. */
@Injectable()
export class LoopBlockedTool implements ToolProvider, OnModuleInit {
  readonly kind = 'skill';
  readonly names = [NAME];

  constructor(
    private readonly providers: ToolProviders,
    private readonly database: Database,
    private readonly writer: LoopWriter,
  ) {}

  onModuleInit(): void {
    this.providers.register(this);
  }

  /** Only runs of loops have it, so people are not shown it. */
  async list(): Promise<ListedTool[]> {
    return [];
  }

  open({ loopId, runId }: ToolScope): OpenTools {
    return {
      offered: loopId === null ? [] : [OFFER],
      call: async (_, input) => {
        if (loopId === null) return failed('This run is no iteration of a loop');
        try {
          return await this.block(loopId, runId, inputOf(NAME, LoopBlocked, input).reason.trim());
        } catch (error) {
          const problem = problemOf(error);
          if (!problem) throw error;
          return failed(problem.detail);
        }
      },
    };
  }

  private async block(loopId: string, callId: string, reason: string): Promise<ToolResult> {
    const isNoted = await this.database.transaction(unit => this.writer.block(unit, loopId, callId, reason));
    if (!isNoted) return failed('The loop has ended already');
    return { output: 'Noted: the loop ends with this run. End it now.', isError: false };
  }
}
