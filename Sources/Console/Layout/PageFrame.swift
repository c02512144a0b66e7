import CloudKitModel

/// What surrounds the content of a page: the head of the document, the navigation, messages.
struct PageFrame {
    /// A link of the navigation.
    struct Link {
        /// The word for the page.
        var title: String
        /// Its address.
        var address: Address
        /// Whether it is the page that is shown.
        var isCurrent: Bool
        /// Whether a page below it is shown.
        var isAbove = false
    }

    /// The addresses of the style sheet and the script.
    var style: Address
    var script: Address
    /// The operator's name; nil while no one is signed in.
    var operatorName: String?
    /// The form that signs out.
    var signOut: HTML?
    /// The pages of the cloud.
    var cloudLinks: [Link] = []
    /// The container that the page belongs to.
    var container: ContainerFrame?
    /// A message about what was done before.
    var notice: String?

    /// The container that a page belongs to.
    struct ContainerFrame {
        /// The container.
        var container: ContainerID
        /// The environment.
        var environment: Environment
        /// The same page in the other environment.
        var otherEnvironment: Link
        /// The pages of the container.
        var links: [Link]
        /// The container's first page.
        var home: Address
    }

    /// Returns the document of a page.
    func document(title: String, trail: [TrailLink], body: HTML) -> HTML {
        Tag.html(.lang("en")) {
            Tag.head {
                Tag.meta(.charset("utf-8"))
                Tag.meta(.metaName("viewport"), .content("width=device-width, initial-scale=1"))
                Tag.meta(.metaName("color-scheme"), .content("light dark"))
                HTML(tag: "title", [], HTML(documentTitle(title)))
                Tag.link(.rel("stylesheet"), .href(style))
                HTML(tag: "script", [.src(script), .isDeferred()], HTML())
            }
            Tag.body {
                Tag.a(.class("skip"), .href(part: "content"), text: "Skip to the content")
                header
                container.map { containerBar($0) }
                Tag.main(.id("content"), .tabIndex(-1)) {
                    breadcrumbs(trail, title)
                    Tag.h1 { Part.name(title) }
                    notice.map { Part.status($0) }
                    body
                }
            }
        }
    }

    private func documentTitle(_ title: String) -> String {
        let parts = [title, container.map { "\($0.container.name), \($0.environment.rawValue)" }, "Welkin Console"]
        return parts.compactMap { $0 }.joined(separator: " – ")
    }

    private var header: HTML {
        Tag.header(.class("bar")) {
            Tag.a(.class("brand"), .href(Address()), text: "Welkin Console")
            if !cloudLinks.isEmpty {
                Tag.nav(.label("Cloud")) { list(cloudLinks) }
            }
            if let operatorName {
                Tag.div(.class("operator")) {
                    Tag.span(.class("quiet")) { Part.name(operatorName) }
                    signOut
                }
            }
        }
    }

    private func containerBar(_ frame: ContainerFrame) -> HTML {
        Tag.div(.class("bar container")) {
            Tag.p(.class("where")) {
                Tag.a(.href(frame.home)) { Part.name(frame.container.name) }
                Part.mark(frame.environment.rawValue, frame.environment == .production ? .warn : .quiet)
                Tag.a(.href(frame.otherEnvironment.address), text: "Switch to \(frame.otherEnvironment.title)")
            }
            Tag.nav(.label("Container")) { list(frame.links) }
        }
    }

    private func list(_ links: [Link]) -> HTML {
        Tag.ul {
            links.map { link in
                Tag.li { Tag.a(.href(link.address), .current(link.isCurrent), .within(link.isAbove), text: link.title) }
            }
        }
    }

    private func breadcrumbs(_ trail: [TrailLink], _ title: String) -> HTML {
        if trail.isEmpty { return HTML() }
        return Tag.nav(.label("Breadcrumbs"), .class("trail")) {
            Tag.ol {
                trail.map { link in Tag.li { Part.link(link.title, link.address) } }
                Tag.li(.current(true)) { Part.name(title) }
            }
        }
    }
}
