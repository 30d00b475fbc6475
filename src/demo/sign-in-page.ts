/** The sign-in page: it has only a button. */
export function signInPage({ client_id: client }: Record<string, unknown>): string {
  const name = typeof client === 'string' ? client.replaceAll(/[^\w-]/g, '') : '';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in (development)</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  main { max-width: 26rem; margin: 15vh auto; padding: 0 1.5rem; }
  button { font: inherit; padding: .6rem 1.2rem; }
</style>
<main>
  <h1>Sign in</h1>
  <p><strong>${name}</strong> asks for access to Order Lookup Services.</p>
  <form method="post"><button autofocus>Sign in as demo user</button></form>
  <p><small>This issuer is for development only: it lets everyone in.</small></p>
</main>
</html>`;
}
