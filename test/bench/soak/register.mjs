/** The first account of an installation with a database of its own: its key, and a workspace. */
export async function register(member) {
  const ask = async (path, body, headers = {}) => {
    const answer = await fetch(`${member.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const setup_token = /its setup_token is ([^\s"]+)/.exec(member.output)?.[1];
  const account = { email: 'ada@example.com', password: 'a long password of hers', name: 'Ada', setup_token };
  const { access_token } = await ask('/api/auth/register', account);
  const signedIn = { authorization: `Bearer ${access_token}` };
  const { api_key } = await ask('/api/keys', { name: 'soak' }, signedIn);
  const { id: workspace_id } = await ask('/api/workspaces', { name: 'Soak' }, signedIn);
  return { api_key, workspace_id, headers: { 'x-api-key': api_key, 'content-type': 'application/json' } };
}
