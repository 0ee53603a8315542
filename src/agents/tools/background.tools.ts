import { Injectable } from '@nestjs/common';
import { inputSchemaOf } from '#libs/fields/index.js';
import { checked, Field } from '../../platform/dto/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { BackgroundCommands } from './background-commands.js';
import { readingReport } from './background-report.js';
import type { Tool, ToolContext, ToolResult } from './tool-provider.js';

const ID = { min: 1, max: 16, example: 'c1' };
const NO_SESSION = 'Commands run in the background of a session: name it';

class BashOutputInput {
  @Field.text('As bash gave it', ID) id: string;

  @Field.text('Show only lines that match (grep -E)', {
    min: 1,
    max: 500,
    optional: true,
    example: 'error|warn',
  })
  filter?: string;
}

class BashKillInput {
  @Field.text('As bash gave it', ID) id: string;
}

/** `bash_output`: what is new of the output of a command in the background. */
@Injectable()
export class BashOutputTool implements Tool<BashOutputInput> {
  readonly name = 'bash_output';
  readonly title = 'Output of a background command';
  readonly description =
    'Give what a background command has written since the last call, whether it runs, and its exit code.';
  readonly brief = 'Read what is new of a background command.';
  readonly told = { id: '', filter: 'As grep -E' };
  readonly effect = 'read';
  readonly permission = 'code.run';
  readonly schema = inputSchemaOf(BashOutputInput);

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly background: BackgroundCommands,
  ) {}

  check(input: unknown): BashOutputInput {
    return checked(BashOutputInput, input);
  }

  async run(
    { actor, workspaceId, shell, runId }: ToolContext,
    { id, filter }: BashOutputInput,
  ): Promise<ToolResult> {
    await this.workspaces.require(actor, 'code.run', workspaceId);
    if (!shell) throw new Invalid(NO_SESSION);
    return readingReport(await this.background.of(shell, runId).read(id, filter));
  }
}

/** `bash_kill`: ends a command in the background. */
@Injectable()
export class BashKillTool implements Tool<BashKillInput> {
  readonly name = 'bash_kill';
  readonly title = 'End a background command';
  readonly description = 'End a background command and its process group, and give the rest of its output.';
  readonly brief = 'End a background command.';
  readonly told = { id: '' };
  readonly effect = 'write';
  readonly permission = 'code.run';
  readonly schema = inputSchemaOf(BashKillInput);

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly background: BackgroundCommands,
  ) {}

  check(input: unknown): BashKillInput {
    return checked(BashKillInput, input);
  }

  async run({ actor, workspaceId, shell, runId }: ToolContext, { id }: BashKillInput): Promise<ToolResult> {
    await this.workspaces.require(actor, 'code.run', workspaceId);
    if (!shell) throw new Invalid(NO_SESSION);
    return readingReport(await this.background.of(shell, runId).kill(id));
  }
}
