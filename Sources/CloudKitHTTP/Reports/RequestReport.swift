import CloudKitLogs
import CloudKitModel
import HTTPTypes
import Logging

/// A request as the log and the metrics show it: without tokens, names of records, or values.
struct RequestReport: Sendable {
    let endpoint: EndpointName
    let method: HTTPRequest.Method
    /// nil for pages and files.
    let place: ContainerPath?
    /// nil for endpoints without a database in their path.
    let scope: DatabaseScope?
    let client: String
    let uuid: String
    let bytesIn: Int
    var status = 0
    /// The error of a request that failed as a whole.
    var code: String?
    var itemsIn = 0
    var itemsOut = 0
    var itemsFailed = 0
    var bytesOut = 0
    var milliseconds = 0.0
    let labels: OperationLabels

    init(_ request: IncomingRequest) {
        endpoint = request.endpoint?.name ?? .unknown
        method = request.method
        place = request.endpoint?.place
        scope = request.endpoint?.scope
        client = request.surface == .native ? "sdk" : "web"
        uuid = request.uuid
        bytesIn = request.bytesIn
        labels = OperationLabels(request.headers)
    }

    /// The fields of the log.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": .string(method.rawValue), "endpoint": .string(endpoint.rawValue),
            "status": .stringConvertible(status), "ms": .string(Self.text(milliseconds)),
            "bytesIn": .stringConvertible(bytesIn), "bytesOut": .stringConvertible(bytesOut),
            "client": .string(client), "uuid": .string(uuid),
        ]
        if let place {
            metadata["container"] = .string(place.container.name)
            metadata["environment"] = .string(place.environment.rawValue)
        }
        if let scope { metadata["database"] = .string(scope.word) }
        if let code { metadata["code"] = .string(code) }
        if itemsIn > 0 { metadata["itemsIn"] = .stringConvertible(itemsIn) }
        if itemsOut > 0 { metadata["itemsOut"] = .stringConvertible(itemsOut) }
        if itemsFailed > 0 { metadata["itemsFailed"] = .stringConvertible(itemsFailed) }
        metadata["operation"] = labels.operation.map { .string($0) }
        metadata["group"] = labels.group.map { .string($0) }
        metadata["groupName"] = labels.groupName.map { .string($0) }
        metadata["groupQuantity"] = labels.groupQuantity.map { .string($0) }
        metadata["expectedSend"] = labels.expectedSend.map { .string($0) }
        metadata["expectedReceive"] = labels.expectedReceive.map { .string($0) }
        return metadata
    }

    /// Returns a time with one digit after the decimal point.
    private static func text(_ milliseconds: Double) -> String {
        let tenths = Int64((milliseconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
