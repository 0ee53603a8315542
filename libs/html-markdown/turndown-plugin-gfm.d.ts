declare module '@joplin/turndown-plugin-gfm' {
  import type TurndownService from 'turndown';

  /** Tables, task lists, struck out text and highlighted code. */
  export const gfm: TurndownService.Plugin;
}
