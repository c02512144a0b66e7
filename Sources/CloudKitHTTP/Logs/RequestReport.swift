import CloudKitModel
import HTTPTypes
import Logging

/// What the log and the metrics learn of one request: never tokens, names of records, or values.
struct RequestReport {
    var endpoint = Endpoint.unknown
    var method: HTTPRequest.Method
    var route: Route?
    var status = 0
    /// Why the request failed as a whole.
    var code: String?
    var surface: String
    var itemsIn = 0
    var itemsOut = 0
    var itemsFailed = 0
    var bytesIn = 0
    var bytesOut = 0
    var uuid: String
    var milliseconds = 0.0

    func metadata(_ labels: OperationLabels) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": .string(method.rawValue), "endpoint": .string(endpoint.rawValue),
            "status": .stringConvertible(status), "ms": .string(Self.text(milliseconds)),
            "bytesIn": .stringConvertible(bytesIn), "bytesOut": .stringConvertible(bytesOut),
            "client": .string(surface), "uuid": .string(uuid),
        ]
        if let place = route?.place {
            metadata["container"] = .string(place.container.name)
            metadata["environment"] = .string(place.environment.rawValue)
        }
        if let scope = route?.scope { metadata["database"] = .string(scope.word) }
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

    /// With one digit behind the point.
    private static func text(_ milliseconds: Double) -> String {
        let tenths = Int64((milliseconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
