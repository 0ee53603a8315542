import { Inject, Injectable } from '@nestjs/common';
import { assertValid, hydrate } from '../../platform/dto/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { writingAs } from '../../workspaces/changes/index.js';
import { BashTool } from './bash.tool.js';
import { EditFileTool, ListFilesTool, ReadFileTool, SearchFilesTool, WriteFileTool } from './file.tools.js';
import { failed, type Tool, type ToolContext, type ToolResult } from './tool.js';

/** The one place where tools are looked up and run, whoever calls. */
@Injectable()
export class Toolbox {
  private readonly tools: ReadonlyMap<string, Tool>;

  constructor(
    @Inject(BashTool) bash: Tool,
    @Inject(ReadFileTool) readFile: Tool,
    @Inject(WriteFileTool) writeFile: Tool,
    @Inject(EditFileTool) editFile: Tool,
    @Inject(ListFilesTool) listFiles: Tool,
    @Inject(SearchFilesTool) searchFiles: Tool,
  ) {
    const all = [bash, readFile, writeFile, editFile, listFiles, searchFiles];
    this.tools = new Map(all.map(tool => [tool.name, tool]));
  }

  list(): Tool[] {
    return [...this.tools.values()];
  }

  find(name: string): Tool | undefined {
    return this.tools.get(name);
  }

  /** What a tool takes, of what somebody gave; throws Invalid (422) where it makes no sense. */
  check(tool: Tool, input: unknown): object {
    const checked = hydrate(tool.input, input);
    assertValid(checked);
    return checked;
  }

  /**
   * Runs a tool. What it refuses (a path that is not there, a role that is too low) is a result that says so, for a
   * model to act on; faults of ours are thrown.
   */
  async run(context: ToolContext, name: string, input: unknown): Promise<ToolResult> {
    const tool = this.tools.get(name);
    if (!tool) return failed(`There is no tool ${name}; there are ${[...this.tools.keys()].join(', ')}`);
    try {
      const checked = this.check(tool, input);
      const { runId } = context;
      const work = () => tool.run(context, checked);
      return await (runId === undefined ? work() : writingAs({ type: 'run', id: runId }, work));
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      return failed(problem.detail);
    }
  }
}
