import { fileUri, runUri } from '../resources/resource-uri.js';
import type { ActionToolView, Output, Show } from './action-tool.js';
import { firstLines, fits, fitted, lengthOf, MAX_CHARACTERS } from './result-limit.js';

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
  const { text, lines } = firstLines(content, MAX_CHARACTERS - lengthOf({ ...output, content: '' }));
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

/** How MCP clients see the actions that are tools by themselves. */
export const TOOL_VIEWS: Readonly<Record<string, ActionToolView>> = {
  list_workspaces: { toolset: 'workspaces', hint: 'read', show: fewerItems },
  list_files: { toolset: 'files', hint: 'read', show: fewerItems },
  read_file: { toolset: 'files', hint: 'read', show: fewerLines, isPlain: true },
  search_files: { toolset: 'files', hint: 'read', show: fewerItems, isPlain: true },
  write_file: { toolset: 'files', hint: 'replace' },
  edit_file: { toolset: 'files', hint: 'change' },
  send_message: { toolset: 'agents', hint: 'delegate' },
  run_status: { toolset: 'agents', hint: 'read', show: shorterTexts },
};
