import { Injectable } from '@nestjs/common';
import { BashKillTool, BashOutputTool } from './background.tools.js';
import { BashTool } from './bash.tool.js';
import type { Tool } from './tool-provider.js';

/** The tools that work in a shell: that of a run, or a named session of their caller. */
@Injectable()
export class ShellTools {
  readonly all: readonly Tool[];

  constructor(bash: BashTool, output: BashOutputTool, kill: BashKillTool) {
    this.all = [bash, output, kill];
  }

  get names(): string[] {
    return this.all.map(({ name }) => name);
  }

  find(name: string): Tool | undefined {
    return this.all.find(tool => tool.name === name);
  }
}
