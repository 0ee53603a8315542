import { fieldsWith } from '#libs/fields/index.js';

/** What the examples of the API description use as the id of anything that has no sample of its own below. */
const SAMPLE_ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';

/** Sample ids by the field that holds them. The page at /docs puts ids of the caller's own things in their places. */
export const SAMPLE_IDS: Readonly<Record<string, string>> = {
  workspace_id: '0192f3a1-7c1e-7d4a-9b7e-000000000001',
  organization_id: '0192f3a1-7c1e-7d4a-9b7e-000000000002',
  chat_id: '0192f3a1-7c1e-7d4a-9b7e-000000000003',
  call_id: '0192f3a1-7c1e-7d4a-9b7e-000000000004',
};

/** The fields that the shapes of requests and responses are made of. */
export const Field = fieldsWith(name => SAMPLE_IDS[name] ?? SAMPLE_ID);
