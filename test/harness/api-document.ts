import { apiDescription } from '../../src/api-description.js';

type ApiDocument = Awaited<ReturnType<typeof apiDescription>>;

/** The description of the API, with what its operations share in the place of the references to it. */
export async function apiDocument(): Promise<ApiDocument> {
  const document = await apiDescription();
  const { responses = {}, parameters = {} } = document.components ?? {};
  const shared = { responses, parameters } as Record<string, Record<string, unknown>>;
  const paths = JSON.stringify(document.paths, (_, value) => {
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(value?.$ref ?? '') ?? [];
    return shared[kind]?.[name] ?? value;
  });
  return { ...document, paths: JSON.parse(paths) };
}
