export type { HtmlPage, MarkdownPage } from './html-markdown-task.js';
