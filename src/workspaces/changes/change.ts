export const CHANGE_KINDS = ['created', 'modified', 'deleted', 'moved'] as const;

export interface Change {
  readonly path: string;
  readonly kind: (typeof CHANGE_KINDS)[number];
  readonly from?: string | null;
  /** Bytes of a file; null for a folder, a link, or what is gone. */
  readonly size?: number | null;
  readonly etag?: string | null;
  /** Identifies the content of an agent's instruction file; see {@link withRevisions}. */
  readonly revision?: string;
}

/** Writes of one writer to one path within this time are one change. */
export const COALESCE_MS = 1000;
