import type { Application, NextFunction, Request, Response } from 'express';
import { Problem } from '../problems/problem.js';

/** What Express's router keeps of each middleware and route. Only a route has `route`. */
interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

/**
 * Stands behind all routes: answers OPTIONS, and refuses the methods that an existing address does not have. Express
 * itself would answer OPTIONS with 200 and a text, and other methods with 404.
 */
export function otherMethods(request: Request, response: Response, next: NextFunction): void {
  const { router } = request.app as Application;
  const layers = router.stack as unknown as readonly Layer[];
  const routes = layers.flatMap((layer) =>
    layer.route && layer.match(request.path) ? [layer.route] : [],
  );
  if (routes.length === 0) {
    next();
    return;
  }
  request.route = routes[0]; // for the log and the metrics
  const methods = methodsOf(routes).join(', ');
  response.setHeader('Allow', methods);
  if (request.method === 'OPTIONS') {
    response.status(204).end();
    return;
  }
  const detail = `The methods of this address are ${methods}.`;
  next(new Problem('method-not-allowed', { detail }));
}

function methodsOf(routes: readonly Required<Layer>['route'][]): string[] {
  const methods = routes.flatMap((route) => Object.keys(route.methods));
  if (methods.includes('get')) methods.push('head');
  methods.push('options');
  return [...new Set(methods)].map((method) => method.toUpperCase());
}
