import CloudKitHTTP
import HTTPTypes

/// The response of a page.
enum PageResponse {
    /// A page, within the Console's frame.
    case page(PageContent)
    /// Another page, with a message that it shows once.
    case redirect(Address, notice: String?)
    /// A response without the frame, such as a file or data for the script.
    case response(EndpointResponse)

    /// Returns a page of parts.
    ///
    /// - Parameters:
    ///   - title: The heading, where it differs from the page's own.
    ///   - trail: The pages above it, outermost first.
    ///   - status: For pages that show an error.
    ///   - content: The parts.
    static func page(
        title: String? = nil, trail: [TrailLink] = [], status: HTTPResponse.Status = .ok,
        @HTMLBuilder content: () throws -> HTML
    ) rethrows -> PageResponse {
        .page(PageContent(title: title, trail: trail, status: status, body: try content()))
    }
}

/// The content of a page.
struct PageContent {
    /// The heading, where it differs from the page's own.
    var title: String?
    /// The pages above it, outermost first, after those of the container.
    var trail: [TrailLink] = []
    /// For pages that show an error.
    var status: HTTPResponse.Status = .ok
    /// The parts below the heading.
    var body: HTML
}

/// A page above another.
struct TrailLink: Sendable {
    /// The word for it.
    var title: String
    /// Its address.
    var address: Address

    /// Creates a link.
    init(_ title: String, _ address: Address) {
        self.title = title
        self.address = address
    }
}
