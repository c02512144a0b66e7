import CloudKitServer

/// `GET /metrics`: what the cloud has counted, in Prometheus' text format.
struct MetricsEndpoint {
    var metrics: RequestMetrics
    var cloud: Cloud

    func show(_ request: IncomingRequest) -> EndpointResponse {
        EndpointResponse(
            contentType: "text/plain; version=0.0.4; charset=utf-8",
            body: Array(metrics.exposition(notices: cloud.noticeBoard.counts).utf8))
    }
}
