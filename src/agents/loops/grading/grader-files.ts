import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { checked } from '../../../platform/dto/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { GraderReads, READ_FILE } from './grader-prompt.js';

/** Most that a grader reads, in bytes: in all, and at once. */
const MAX_BYTES = 64 * 1024;
const MAX_PART = 16 * 1024;

interface Read {
  readonly text: string;
  readonly isError: boolean;
}

/** The files that one grader asks for. */
export class GraderFiles {
  private left = MAX_BYTES;

  constructor(private readonly files: WorkspaceFs) {}

  async read(tool: string, input: unknown): Promise<Read> {
    if (tool !== READ_FILE) return refusal(`There is no tool ${tool}; there is ${READ_FILE}`);
    if (this.left === 0) return refusal('You have read all that a grader may; answer now');
    try {
      return await this.part(checked(GraderReads, input));
    } catch (error) {
      if (error instanceof WorkspaceFsError) return refusal(error.message);
      const problem = problemOf(error);
      if (!problem || problem.status >= 500) throw error;
      return refusal(problem.detail);
    }
  }

  private async part({ path, start_line = 1 }: GraderReads): Promise<Read> {
    const max_bytes = Math.min(MAX_PART, this.left);
    const { content, end_line, truncated } = await this.files.readText(path, { start_line, max_bytes });
    this.left -= Math.min(this.left, Buffer.byteLength(content));
    const rest = truncated ? `\n(Lines ${start_line} to ${end_line}; more follow.)` : '';
    return { text: content + rest, isError: false };
  }
}

const refusal = (text: string): Read => ({ text, isError: true });
