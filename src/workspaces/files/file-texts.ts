import type { Page } from '../../platform/dto/index.js';
import type { ContentView, EditedView, EntryView, WrittenView } from './files.dto.js';

/** What models read of files, which they have as tools. */
export const fileTexts = {
  list({ items, next_cursor }: Page<EntryView>): string {
    const lines = items.map(({ path, type, size }) =>
      type === 'directory' ? `${path}/` : `${path} (${size} bytes)`,
    );
    if (next_cursor) lines.push(`… more than ${items.length} entries; list a folder below`);
    return lines.join('\n') || '(empty)';
  },

  read({ content, start_line, end_line, total_lines }: ContentView): string {
    const total = total_lines ?? 'very many';
    if (content === '' && total !== 0) return `(no such lines; the file has ${total})`;
    const isPart = start_line > 1 || end_line !== total;
    return isPart ? `${content}\n(lines ${start_line} to ${end_line} of ${total})` : content;
  },

  path: ({ path }: EntryView): string[] => [path],

  write: ({ path, size, created }: WrittenView): string =>
    `${created ? 'Created' : 'Replaced'} ${path} (${size} bytes)`,

  edit: ({ path, replacements }: EditedView): string =>
    `Replaced ${replacements} occurrence${replacements === 1 ? '' : 's'} in ${path}`,
};
