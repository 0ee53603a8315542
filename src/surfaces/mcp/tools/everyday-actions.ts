import { fileUri, runUri } from '../resources/resource-uri.js';
import type { EverydayAction, Output, Show } from './action-tool.js';
import { firstLines, fits, fitted, lengthOf, MOST_CHARACTERS } from './result-limit.js';

/** A page that is too long is asked for again with fewer items, so that its cursor stays right. */
const fewerItems: Show = async (output, input, again) => {
  let page = output;
  while (!fits(page) && itemsOf(page) > 1)
    page = await again({ ...input, limit: Math.floor(itemsOf(page) / 2) });
  return { output: page };
};

const itemsOf = ({ items }: Output): number => (Array.isArray(items) ? items.length : 0);

/** The lines that fit, with a link to the file. */
const fewerLines: Show = async (output, { workspace_id }) => {
  const content = String(output.content);
  const { text, lines } = firstLines(content, MOST_CHARACTERS - lengthOf({ ...output, content: '' }));
  const end_line = Number(output.start_line) - 1 + lines;
  const path = String(output.path);
  return {
    output: { ...output, content: text, end_line, truncated: true },
    text: `${text}\n… up to line ${end_line}${output.total_lines === null ? '' : ` of ${output.total_lines}`}; ask for the lines after it with start_line`,
    rest: { uri: fileUri(String(workspace_id), path), name: path },
  };
};

const shorterTexts: Show = async output => ({
  output: fitted(output),
  rest: { uri: runUri(String(output.call_id)), name: 'The whole result' },
});

/** The actions that are tools by themselves, since they are what is wanted every day. */
export const EVERYDAY_ACTIONS: readonly EverydayAction[] = [
  {
    tool: 'list_workspaces',
    action: 'workspace_list',
    toolset: 'workspaces',
    hint: 'read',
    title: 'List workspaces',
    description: 'List the workspaces that you see, with their ids, which the other tools take.',
    show: fewerItems,
  },
  {
    tool: 'list_files',
    action: 'file_list',
    toolset: 'files',
    hint: 'read',
    title: 'List files',
    description: 'List a folder of a workspace.',
    show: fewerItems,
  },
  {
    tool: 'read_file',
    action: 'file_read',
    toolset: 'files',
    hint: 'read',
    title: 'Read a file',
    description: 'Read a text file of a workspace, or some of its lines.',
    show: fewerLines,
    text: ({ content }) => String(content),
  },
  {
    tool: 'write_file',
    action: 'file_write',
    toolset: 'files',
    hint: 'replace',
    title: 'Write a file',
    description: 'Write a whole file in a workspace, making its folders and replacing what was there.',
  },
  {
    tool: 'edit_file',
    action: 'file_edit',
    toolset: 'files',
    hint: 'change',
    title: 'Edit a file',
    description: 'Replace a piece of text in a file of a workspace.',
  },
  {
    tool: 'send_message',
    action: 'agent_send',
    toolset: 'agents',
    hint: 'delegate',
    title: 'Send a message to an agent',
    description:
      'Set an agent to work, in a new chat or an existing one. Answers at once with a call_id; ask run_status for the result.',
  },
  {
    tool: 'run_status',
    action: 'run_status_get',
    toolset: 'agents',
    hint: 'read',
    title: 'Status of an agent run',
    description:
      'Tell how a run stands, and its result once it has ended. wait=30 waits for its end that long; ask again where it goes on.',
    show: shorterTexts,
  },
];
