import type { Application, NextFunction, Request, Response } from 'express';
import { Problem } from '../problems/problem.js';

/** A route in Express's router: its pattern, and its methods in lower case. */
interface Route {
  readonly path: string;
  readonly methods: Readonly<Record<string, boolean>>;
}

/** An entry in the list of Express's router. An entry of a middleware has no `route`. */
interface Layer {
  readonly route?: Route;
  match(path: string): boolean;
}

/**
 * The middleware behind all routes: answers OPTIONS, and refuses methods that no route at the address has. Express
 * itself would answer OPTIONS with 200 and a text, and other methods with 404.
 */
export function otherMethods(request: Request, response: Response, next: NextFunction): void {
  const routes = routesAt(request);
  const [firstRoute] = routes;
  if (firstRoute === undefined) {
    next();
    return;
  }
  request.route = firstRoute; // for the log and the metrics
  const methods = methodsOf(routes).join(', ');
  response.setHeader('Allow', methods);
  if (request.method === 'OPTIONS') {
    response.status(204).end();
    return;
  }
  const detail = `The methods of this address are ${methods}.`;
  next(new Problem('method-not-allowed', { detail }));
}

/**
 * The routes of the address. Express has no public list of its routes, so this function reads the list of its router,
 * whose version package.json pins (docs/decisions.md).
 */
function routesAt(request: Request): readonly Route[] {
  const { router } = request.app as Application;
  const layers = router.stack as unknown as readonly Layer[];
  const routes: Route[] = [];
  for (const layer of layers) {
    if (layer.route && layer.match(request.path)) routes.push(layer.route);
  }
  return routes;
}

/** The methods of the routes, with HEAD, which Express answers wherever there is GET, and OPTIONS. */
function methodsOf(routes: readonly Route[]): string[] {
  const methods = new Set<string>();
  for (const route of routes) {
    for (const method of Object.keys(route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  methods.add('OPTIONS');
  return [...methods];
}
