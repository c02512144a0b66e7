import HTTPTypes

/// Pages of another module that a cloud serves below a path of their own, such as the Console's.
///
/// A site decides itself whom it answers. `CloudKitHTTP` knows no site; the program that makes the cloud hands them in.
package protocol MountedSite: Sendable {
    /// The path of the site, such as `/console`. That path and all paths below it are the site's, with GET, HEAD and POST.
    var path: String { get }

    /// Responds to a request for one of the site's paths.
    ///
    /// - Throws: An error for which the cloud sends an error object.
    func respond(to request: IncomingRequest, with services: SiteServices) async throws -> EndpointResponse
}
