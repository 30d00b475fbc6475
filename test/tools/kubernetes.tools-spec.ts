import { expect, it } from '@jest/globals';
import { documents, files } from '../deploy/manifests.js';

type Models = Record<string, new (data: object) => { validate(): void }>;

it.each(files)(
  'deploy/kubernetes/%s fits the schemas of Kubernetes and the Prometheus operator',
  async (file) => {
    for (const manifest of documents(file)) {
      const { apiVersion, kind } = manifest;
      const isOfPrometheus = apiVersion.startsWith('monitoring.coreos.com/');
      const home = isOfPrometheus ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
      const Model = ((await import(`${home}/${apiVersion}/${kind}`)) as Models)[kind];
      expect(() => Model && new Model(manifest).validate()).not.toThrow();
    }
  },
);
