/// The description of an endpoint for clients: its paths, the body it takes, the answers it gives.
struct EndpointDescription: Sendable {
    /// The form of an endpoint's path.
    enum Place: Sendable {
        /// Below `/database/1/{container}/{environment}/{database}/`, in these databases; some have a shorter path as well, without the database.
        case database([String], hasAlias: Bool = false)
        /// Below `/device/1/{container}/{environment}/`.
        case device
        /// Below `/device/1/…`, and the same at the paths of databases.
        case deviceAndDatabase
        /// Below `/admin/1/{container}/{environment}/`.
        case container
        /// A path of its own.
        case path(String)
        /// A path of its own for operators.
        case operatorPath(String)
    }

    /// The content of a body.
    enum Content: Sendable {
        case json(JSONSchema)
        /// JSON, or an empty body where there is nothing to say.
        case jsonOrNothing(JSONSchema)
        /// Text of a content type.
        case text(String)
        /// Bytes of any type.
        case bytes
        case none
    }

    /// A method and what it takes and gives.
    struct Operation: Sendable {
        var method: String
        var body: Content = .none
        /// By status. Every other status has the error object.
        var answers: [(status: Int, content: Content)]
    }

    var summary: String
    var place: Place
    var operations: [Operation]

    /// Returns the description of an endpoint that takes POST, or GET without a body as well.
    static func post(
        _ summary: String, _ place: Place, takes body: JSONSchema, gives answer: JSONSchema, orGet: Bool = false
    ) -> EndpointDescription {
        let post = Operation(method: "post", body: .json(body), answers: [(200, .json(answer))])
        let get = Operation(method: "get", answers: [(200, .json(answer))])
        return EndpointDescription(summary: summary, place: place, operations: orGet ? [post, get] : [post])
    }

    /// Returns the description of a page, script or report.
    static func page(_ summary: String, _ path: String, _ type: String) -> EndpointDescription {
        EndpointDescription(
            summary: summary, place: .path(path),
            operations: [Operation(method: "get", answers: [(200, .text(type))])])
    }

    /// Returns the description of a page that names an app, and refuses what names none with a page as well.
    static func form(_ summary: String, _ path: String) -> EndpointDescription {
        EndpointDescription(
            summary: summary, place: .path(path),
            operations: [
                Operation(method: "get", answers: [200, 400, 403].map { (status: $0, content: .text("text/html")) })
            ])
    }
}
