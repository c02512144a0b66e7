/// `GET /metrics`: the metrics of the cloud in Prometheus' text format.
struct MetricsEndpoint {
    var metrics: RequestMetrics

    func show(_ request: IncomingRequest) -> EndpointResponse {
        EndpointResponse(
            contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(metrics.exposition().utf8))
    }
}
